"""`Sampler` is the type of a setting that holds any sampler, chosen by `kind`: `{kind: mala, steps: 20}`."""

from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import BaseModel, Discriminator

from ebmbench.config.registry import load, names
from ebmbench.config.schema import check
from ebmbench.samplers.common.chain import SamplerSettings

if TYPE_CHECKING:
    Sampler = SamplerSettings
else:
    Sampler = Annotated[
        Union[tuple(load("samplers", name).Settings for name in names("samplers"))], Discriminator("kind")
    ]


class _Named(BaseModel):
    sampler: Sampler


def parse(section: dict[str, Any], file: str, key: str) -> SamplerSettings:
    """Check a sampler's section that stands at `<key>.sampler`."""
    return check(_Named, {"sampler": section}, file, key).sampler
