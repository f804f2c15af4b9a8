import type { ConfigurationFingerprint } from '../core/backend.js';
import { RecentMap } from '../core/recent-map.js';
import { differingPlaces } from '../document/patch/fingerprint.js';

/** Configurations whose members are remembered: those that somebody may still have open. */
const MOST = 32;

/** The configurations that were shown last, by their digest: so it can be said what has changed since. */
export class KnownFingerprints {
  readonly #known = new RecentMap<string, ConfigurationFingerprint>(MOST);

  /** Notes one that is shown. */
  note(fingerprint: ConfigurationFingerprint): void {
    this.#known.set(fingerprint.digest, fingerprint);
  }

  /** The places, as JSON Pointers, at which a configuration differs from the one of a digest; null where that is not known. */
  differing(digest: string, present: ConfigurationFingerprint): readonly string[] | null {
    const members = this.#known.get(digest)?.members;
    return members === undefined ? null : differingPlaces(members, present.members);
  }
}
