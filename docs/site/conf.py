"""Sphinx's settings of the site. ``make site`` calls it, by way of make_site.py."""

from __future__ import annotations

from robot_control_ros import __version__

project = "robot_control_ros"
author = "robot_control_ros developers"
copyright = author
version = __version__
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
highlight_language = "text"  # of blocks that name no language

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = False

html_theme = "furo"
html_title = "robot_control_ros"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["versions_list.js"]
html_show_search_summary = False  # it would be fetched, which a browser refuses from disk
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"font-stack": "system-ui, sans-serif"},
    "footer_icons": [],
}
