import type { OwnHandler } from './call.js';
import { ADDRESS_HANDLERS } from './handlers/address.js';
import { CONFIGURATION_HANDLERS } from './handlers/configuration.js';
import { DNS_HANDLERS } from './handlers/dns.js';
import { EVENT_HANDLERS } from './handlers/events.js';
import { JOB_HANDLERS } from './handlers/jobs.js';
import { KEY_HANDLERS } from './handlers/keys.js';
import { TOKEN_HANDLERS } from './handlers/tokens.js';
import { USAGE_HANDLERS } from './handlers/usage.js';
import type { OwnOperationName } from './operations.js';

/** The handler of each call. */
export const OWN_HANDLERS: Readonly<Record<OwnOperationName, OwnHandler>> = {
  ...ADDRESS_HANDLERS,
  ...CONFIGURATION_HANDLERS,
  ...DNS_HANDLERS,
  ...EVENT_HANDLERS,
  ...JOB_HANDLERS,
  ...KEY_HANDLERS,
  ...TOKEN_HANDLERS,
  ...USAGE_HANDLERS,
};
