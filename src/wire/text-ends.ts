/** Removes a character from the end of a text, however often it is there, in linear time, unlike a regular expression. */
export function withoutEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}

/** Removes the slashes around a path. */
export function withoutOuterSlashes(path: string): string {
  return withoutEnd(path, '/').replace(/^\/+/, '');
}
