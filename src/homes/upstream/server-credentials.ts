import { messageOf } from '../../core/errors.js';
import type { Credentials, ListenerConfig, ServerConfiguration } from '../../core/model.js';
import type { ConfigurationAccess } from './configuration.js';
import type { UpstreamContext } from './context.js';

export interface ServerCredentialsOptions extends UpstreamContext {
  readonly given: ListenerConfig | null;
  readonly configuration: Pick<ConfigurationAccess, 'read'>;
  readonly onChange: () => void;
}

/** The server's own credentials: a gateway in front of it lets the same people in. */
export function createServerCredentials({ given, server, configuration, onChange, log }: ServerCredentialsOptions) {
  const isWanted = given !== null && (given.token === null || given.username === '');
  let own: Credentials | null = null;

  function take({ listener }: Pick<ServerConfiguration, 'listener'>): void {
    if (!isWanted) return;
    const { token = null, username = '', passwordHash = '' } = listener ?? {};
    const before = JSON.stringify(own);
    own = { token, username, passwordHash };
    if (JSON.stringify(own) !== before) onChange();
  }

  return {
    /** Returns the given credentials, the server's own as last known in place of missing ones. Null where nothing was given. */
    now(): ListenerConfig | null {
      if (given === null || own === null) return given;
      const { username, passwordHash } = given.username === '' ? own : given;
      return { ...given, token: given.token ?? own.token, username, passwordHash };
    },
    take,
    /** Reads token, name and the hash of the password where they were not given. Never rejects. */
    async learn(): Promise<void> {
      if (!isWanted || server.line()?.capabilities.config === undefined) return;
      try {
        take((await configuration.read('poll')).value.configuration);
      } catch (error) {
        const reason = messageOf(error);
        log.warn({ upstream: server.name, reason }, 'whom the server lets in could not be read from its configuration');
      }
    },
  };
}
