import type { ConfigurationFingerprint } from '../core/backend.js';
import { differingPlaces } from '../document/patch/fingerprint.js';

/** Configurations whose members are remembered: those that somebody may still have open. */
const MOST = 32;

/** The configurations that were shown last, by their digest: so it can be said what has changed since. */
export class KnownFingerprints {
  readonly #known = new Map<string, ConfigurationFingerprint>();

  /** Notes one that is shown. */
  note(fingerprint: ConfigurationFingerprint): void {
    const { digest } = fingerprint;
    this.#known.delete(digest);
    this.#known.set(digest, fingerprint);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST) break;
      this.#known.delete(oldest);
    }
  }

  /** The places, as JSON Pointers, at which a configuration differs from the one of a digest; null where that is not known. */
  differing(digest: string, present: ConfigurationFingerprint): readonly string[] | null {
    const members = this.#known.get(digest)?.members;
    return members === undefined ? null : differingPlaces(members, present.members);
  }
}
