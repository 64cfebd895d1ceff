"""CelebA: aligned faces, 3×32×32 (or 3×64×64, `function: images_64`); 162 770 to train, 19 962 to test.

The customary crop: 140×140 from the centre of the aligned 178×218 photograph, then resized (Song & Ermon 2019, sec. 5).
The official split by identities; its validation part is not used, nor are the attributes: there are no labels.
"""

from ebmbench.data.images import faces
from ebmbench.data.images.files import Files
from ebmbench.data.images.images import Images

PAPER = "Liu, Luo, Wang & Tang, Deep learning face attributes in the wild, ICCV 2015"
YEAR = 2015
LICENCE = "non-commercial research only"
CLASSES: list[str] = []
CROP = 140


def images(files: Files) -> Images:
    """32×32."""
    return faces.read(files, CROP, 32)


def images_64(files: Files) -> Images:
    """64×64."""
    return faces.read(files, CROP, 64)
