"""Reads the relations between the parts of an Office file (ECMA-376, part 2)."""

from posixpath import dirname, join, normpath
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from device_app.knowledge.readers.archives import tree

_RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"


def relations(archive: ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Return the parts of an Office file that `part` refers to, as (name, kind) by the reference's id.

    The part "" is the whole file.
    """
    folder = dirname(part)
    name = join(folder, "_rels", part.removeprefix(f"{folder}/") + ".rels")
    if name not in archive.namelist():
        return {}
    return {
        relation.get("Id", ""): (normpath(join("/", folder, relation.get("Target", ""))).lstrip("/"), kind)
        for relation in tree(archive, name).iter(_RELATION)
        if (kind := relation.get("Type", "")) and relation.get("TargetMode") != "External"
    }


def reference(element: Element) -> str:
    """Return an element's reference to another part, in a transitional or a strict namespace; "" for none."""
    return next((value for name, value in element.attrib.items() if name.endswith("}id")), "")
