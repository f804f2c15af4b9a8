/** A text for a terminal: control characters and what turns the direction of text would let a name write over it. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
}
