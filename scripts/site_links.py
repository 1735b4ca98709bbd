"""A hook of MkDocs (mkdocs.yml): links to files outside docs/ and to folders become links to the repository."""

import re
from pathlib import Path

LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown, page, config, files):
    docs = Path(config["docs_dir"])
    root = docs.parent

    def outside(match):
        target = (docs / page.file.src_uri).parent.joinpath(match[1]).resolve()
        if target.is_file() and docs in target.parents:
            return match[0]
        kind = "tree" if target.is_dir() else "blob"
        if not target.exists():
            return match[0]  # MkDocs reports it
        return f"]({config['extra']['repository']}/{kind}/main/{target.relative_to(root).as_posix()}{match[2] or ''})"

    return LINK.sub(outside, markdown)
