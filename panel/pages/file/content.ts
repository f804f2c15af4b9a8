import { type JsonNode, printTree } from '../../text/json-tree.js';
import { type Reading, readConfiguration, withoutKeys } from './document.js';

/** The file as it is typed, or as a form made it: either is turned into the other only where it is asked for. */
export type Content = { readonly text: string } | { readonly tree: JsonNode };

const texts = new WeakMap<Content, string>();
const readings = new WeakMap<Content, Reading>();

/** The content that a server's file is edited as: all of it but its lists of keys. */
export function contentOf(whole: JsonNode): { readonly text: string } {
  return { text: textOfFile({ tree: withoutKeys(whole) }) };
}

/** Pretty-printed, or as it was typed. Made once. */
export function textOfFile(content: Content): string {
  if ('text' in content) return content.text;
  const known = texts.get(content);
  if (known !== undefined) return known;
  const text = `${printTree(content.tree)}\n`;
  texts.set(content, text);
  return text;
}

/** Reads the content as a configuration. Parsed once. */
export function readingOf(content: Content): Reading {
  if ('tree' in content) return { ok: true, tree: content.tree };
  const known = readings.get(content);
  if (known !== undefined) return known;
  const reading = readConfiguration(content.text);
  readings.set(content, reading);
  return reading;
}
