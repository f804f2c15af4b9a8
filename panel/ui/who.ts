import type { Words } from '../i18n/text.js';

/** The callers that are no named tokens: their names are no token's. */
const KINDS = ['session', 'static', 'terminal', 'open', 'others'] as const;

/** Names who did something: a kind of credential in words, a token by its name. */
export function whoText(by: string, words: Words): string {
  const kind = KINDS.find((name) => name === by);
  return kind === undefined ? by : words(`who.${kind}`);
}
