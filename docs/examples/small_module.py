"""A convolutional network as a PyTorch module, for `weighbridge weigh small_module.py:Net`."""

from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.act = nn.ReLU()

    def forward(self, x):
        return x + self.act(self.norm(self.conv(x)))


class Net(nn.Module):
    def __init__(self, width=16, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.block = Block(width)
        self.head = nn.Linear(width, classes)

    def forward(self, image):
        return self.head(self.block(self.stem(image)).mean(dim=(2, 3)))
