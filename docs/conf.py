"""How the documentation is built: Markdown in, HTML out, nothing fetched."""

from weighbridge import __version__

project = "Weighbridge"
author = "the Weighbridge contributors"
copyright = author
release = version = __version__

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "examples"]

html_theme = "furo"
html_title = f"Weighbridge {release}"
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["wide.css"]
