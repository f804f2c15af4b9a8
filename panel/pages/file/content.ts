import { onceFor } from '../../store/once.js';
import { type JsonNode, printTree } from '../../text/json-tree.js';
import { type Reading, readConfiguration, withoutKeys } from './document.js';

/** The file as it is typed, or as a form made it: either is turned into the other only where it is asked for. */
export type Content = { readonly text: string } | { readonly tree: JsonNode };

/** The content that a server's file is edited as: all of it but its lists of keys. */
export function contentOf(whole: JsonNode): { readonly text: string } {
  return { text: textOfFile({ tree: withoutKeys(whole) }) };
}

/** Pretty-printed, or as it was typed. Made once. */
export const textOfFile = onceFor((content: Content) =>
  'text' in content ? content.text : `${printTree(content.tree)}\n`,
);

/** Reads the content as a configuration. Parsed once. */
export const readingOf = onceFor(
  (content: Content): Reading =>
    'tree' in content ? { ok: true, tree: content.tree } : readConfiguration(content.text),
);
