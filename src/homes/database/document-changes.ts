import type { AccessKey, ConfigurationChange, DnsChange, OutboundRule, OutboundSettings } from '../../core/model.js';
import { changeDocument } from '../../document/change.js';
import type { ConfigurationDocument } from '../../document/document.js';
import { failureWords } from '../../platform/failure-words.js';

/** The rules, and the DNS settings given since the last replacement. */
export interface PresentSections {
  readonly outbound: OutboundSettings | null;
  readonly dnsChanges: readonly DnsChange[];
}

/** Called with the reason if the document has no place for a change. */
export type ChangeRefused = (reason: string) => void;

/** The least number of changes made in one step; each step copies the document, so it grows with that. */
const STEP_CHANGES = 2_000;

/**
 * Collects the keys that differ from a document: in their record, or also in their place, in the order in which they go
 * to the end of their list.
 */
export class KeyChanges {
  readonly #changes = new Map<string, 'record' | 'place'>();

  get size(): number {
    return this.#changes.size;
  }

  record(accessKey: string): void {
    if (!this.#changes.has(accessKey)) this.#changes.set(accessKey, 'record');
  }

  place(accessKey: string): void {
    this.#changes.delete(accessKey);
    this.#changes.set(accessKey, 'place');
  }

  /** Makes the first of the changes and forgets them; `recordOf` returns null for a key that is gone. */
  makeSome(
    document: ConfigurationDocument,
    recordOf: (accessKey: string) => AccessKey | null,
    refused: ChangeRefused,
  ): ConfigurationDocument {
    const most = Math.max(STEP_CHANGES, (document.lists[0]?.starts.length ?? 0) >> 6);
    const left = new Map<string, AccessKey | null>();
    const put = new Map<string, AccessKey | null>();
    let count = 0;
    for (const [accessKey, what] of this.#changes) {
      if (count === most) break;
      count += 1;
      this.#changes.delete(accessKey);
      const record = recordOf(accessKey);
      if (what === 'place') left.set(accessKey, null);
      if (record !== null) put.set(accessKey, record);
    }
    return changedDocument(changedDocument(document, { keys: left }, refused), { keys: put }, refused);
  }
}

/** Returns the changes that turn the sections of the stored document into the present ones. */
export function sectionChanges(
  rules: readonly OutboundRule[],
  { outbound, dnsChanges }: PresentSections,
): readonly ConfigurationChange[] {
  const isSame = outbound === null || JSON.stringify(outbound.rules) === JSON.stringify(rules);
  return [...dnsChanges.map((dns) => ({ dns })), ...(isSame ? [] : [{ rules: outbound.rules }])];
}

/** Returns the document with a change, or unchanged if it has no place for it. */
export function changedDocument(
  document: ConfigurationDocument,
  change: ConfigurationChange,
  refused: ChangeRefused,
): ConfigurationDocument {
  try {
    // When the document becomes a file again, servers must not bring a key back from a legacy key list.
    return changeDocument(document, change, undefined, []);
  } catch (error) {
    // A change without a place in the document does not hold up the others; files do the same.
    refused(failureWords(error));
    return document;
  }
}
