import type { Backend } from '../core/backend.js';
import { isReachable, keepAddress, keptAddress, readClientHost } from '../core/client-address.js';
import { DomainError } from '../core/errors.js';
import { type AnnouncedServer, DEFAULT_ANNOUNCED } from '../core/model.js';
import { failureWords } from '../platform/failure-words.js';
import type { Home } from './homes/home.js';
import type { ComposeOptions } from './options.js';

export interface AnnouncedOptions {
  /** The settings, which win over everything else. */
  readonly given: ComposeOptions['announced'];
  readonly backend: Pick<Backend, 'settings' | 'records'>;
  readonly keepHost: Home['keepHost'];
}

/**
 * The tunnel server as clients are told: by the settings, else by the configuration's `domain`, else as it was kept here, else as the
 * configuration or the server behind it says.
 */
export class Announced {
  readonly #options: AnnouncedOptions;

  constructor(options: AnnouncedOptions) {
    this.#options = options;
  }

  readonly now = (): AnnouncedServer => {
    const { given = {}, backend } = this.#options;
    const { announced, published } = backend.settings();
    const { host, port } = keptAddress(backend.records);
    return {
      ...DEFAULT_ANNOUNCED,
      ...announced,
      ...(host === null || published.domain !== null ? {} : { host }),
      ...(port === null ? {} : { port }),
      ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)),
    };
  };

  /**
   * Keeps the address that links name from now on; without a port it is the server's own. Rejects with `conflict` where something else
   * decides it, with `invalidBody` for a host that no client reaches, and with `saveFailed`.
   */
  async keep(text: string, port: number | null): Promise<AnnouncedServer> {
    const { backend, keepHost } = this.#options;
    const host = readClientHost(text);
    if (host === null)
      throw new DomainError('invalidBody', 'host: expected a host name or an IP address, without a port');
    if (!isReachable(host))
      throw new DomainError('invalidBody', `host: expected an address that clients elsewhere can reach, not ${host}`);
    const winner = this.#winner(port);
    if (winner !== null) throw new DomainError('conflict', winner);
    if (keepHost === null) await keepAddress(backend.records, { host, port });
    else {
      await keepHost(host).catch((error: unknown) => {
        throw new DomainError('saveFailed', failureWords(error));
      });
      await keepAddress(backend.records, { host: null, port });
    }
    return this.now();
  }

  /** Says what decides the address whatever is kept; null where nothing does. */
  #winner(port: number | null): string | null {
    const { given = {}, backend } = this.#options;
    const { domain } = backend.settings().published;
    if (given.host != null) return `the setting --server-host says it: ${given.host}`;
    if (domain !== null) return `"domain" in the configuration says it: ${domain}`;
    if (port !== null && given.port != null) return `the setting --server-port says the port: ${given.port}`;
    return null;
  }
}
