import type { AccessKey, ConfigurationChange, DnsChange, OutboundRule, OutboundSettings } from '../../core/model.js';
import { changeDocument } from '../../document/change.js';
import type { ConfigurationDocument } from '../../document/document.js';
import { failureWords } from '../../platform/failure-words.js';

/** Besides keys: the rules, and what of the DNS settings was given since the last replacement. */
export interface PresentSections {
  readonly outbound: OutboundSettings | null;
  readonly dnsChanges: readonly DnsChange[];
}

/** Is told why the document has no place for a change. */
export type ChangeRefused = (reason: string) => void;

/** Changes that are made in one step at least; where a document is large, each step copies it. */
const STEP_CHANGES = 2_000;

/**
 * Keys that a document does not have as they are: another record, or another place too, in the order in which they go to the
 * end of their list.
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

  /** Makes the first of the changes, which are then none any more; `recordOf` answers null for a key that is gone. */
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

/** The changes that make the sections of today out of those that the document was put with. */
export function sectionChanges(
  rules: readonly OutboundRule[],
  { outbound, dnsChanges }: PresentSections,
): readonly ConfigurationChange[] {
  const isSame = outbound === null || JSON.stringify(outbound.rules) === JSON.stringify(rules);
  return [...dnsChanges.map((dns) => ({ dns })), ...(isSame ? [] : [{ rules: outbound.rules }])];
}

/** The document with a change; as it was where it has no place for that. */
export function changedDocument(
  document: ConfigurationDocument,
  change: ConfigurationChange,
  refused: ChangeRefused,
): ConfigurationDocument {
  try {
    // Servers that read the document once it is a file again must not bring a key back from a legacy key list.
    return changeDocument(document, change, undefined, []);
  } catch (error) {
    // A change that has no place in the document does not hold up the others; files do the same.
    refused(failureWords(error));
    return document;
  }
}
