"""XML from strangers: without entities, references to outside and deep nesting."""

from __future__ import annotations

from typing import Any

from shallows.importing.parts.source import Source

__all__ = ["check_xml"]


def check_xml(source: Source, text: str) -> Any:
    """The root of the file. Raises SpecError for XML that is damaged or not safe."""
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        return fromstring(text.encode(), forbid_dtd=False, forbid_entities=True, forbid_external=True)
    except DefusedXmlException as error:
        name = str(getattr(error, "name", "") or getattr(error, "sysid", "") or type(error).__name__)
        source.stop(None, "must not define entities or refer to other files: this is refused", name)
    except ParseError as error:
        line = error.position[0] if getattr(error, "position", None) else None
        source.stop(line, f"is damaged XML: {error}")
    except (ValueError, LookupError) as error:
        source.stop(None, f"is damaged XML: {error}")
    return None
