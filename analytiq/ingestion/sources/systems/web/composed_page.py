"""Scripts that a page runs in the browser, so that it is read as a visitor sees it: with shadow trees and frames."""

MOST_NODES = 400_000
DEEPEST = 800
"""Nesting of elements; the browser's own parser allows 512."""

OPENS_SHADOW_TREES = """(() => {
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (options) { return attach.call(this, { ...options, mode: 'open' }); };
})();"""
"""Runs before the page's scripts: a closed shadow tree is as visible as an open one."""

HAS_WORDS = r"""() => {
  let words = 0;
  const count = root => {
    if (!root || words >= 5) return;
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot) see(element.shadowRoot);
      if (element.localName === 'iframe') try { see(element.contentDocument.body); } catch { /* of another origin */ }
      if (words >= 5) return;
    }
  };
  const see = root => {
    if (!root) return;
    const text = root.innerText ?? [...root.children].map(child => child.innerText ?? '').join(' ');
    words += text.trim().split(/\s+/).filter(Boolean).length;
    count(root);
  };
  see(document.body);
  return words >= 5;
}"""
"""True once the page shows words, also in shadow trees and frames of its origin."""

COMPOSED = f"""() => {{
  let left = {MOST_NODES}, isComposed = false;
  const blank = document.implementation.createHTMLDocument('');
  const frameBody = element => {{
    if (element.localName !== 'iframe' && element.localName !== 'frame') return null;
    try {{ return element.contentDocument && element.contentDocument.body; }} catch {{ return null; }}
  }};
  const copyAll = (nodes, into, depth) => {{ for (const node of nodes) copy(node, into, depth); }};
  const copy = (node, into, depth) => {{
    if (--left < 0 || depth > {DEEPEST}) return;
    if (node.nodeType === Node.TEXT_NODE) into.append(node.data);
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    const frame = frameBody(node);
    if (frame) {{
      isComposed = true;
      const place = into.appendChild(blank.createElement('section'));
      copyAll(frame.childNodes, place, depth + 1);
      for (const link of place.querySelectorAll('a[href]')) {{
        const address = link.getAttribute('href');
        try {{ link.setAttribute('href', new URL(address, frame.baseURI).href); }} catch {{ /* no address */ }}
      }}
      return;
    }}
    if (node.localName === 'slot' && node.getRootNode() instanceof ShadowRoot) {{
      const given = node.assignedNodes();
      copyAll(given.length ? given : node.childNodes, into, depth + 1);
      return;
    }}
    // The copy belongs to a document without a window: nothing in it loads or runs.
    const made = into.appendChild(blank.importNode(node, false));
    if (node.shadowRoot) isComposed = true;
    copyAll(node.shadowRoot ? node.shadowRoot.childNodes : node.childNodes, made, depth + 1);
  }};
  const root = blank.createElement('div');
  copy(document.documentElement, root, 0);
  return isComposed ? '<!doctype html>' + root.innerHTML : null;
}}"""
"""Returns the page's HTML with each shadow tree in the place of its host's children, and each frame of the page's own
origin as a section; null for a page that has neither."""
