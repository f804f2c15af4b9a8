import { BlockList, isIP, isIPv6 } from 'node:net';
import type { Static, TSchema } from 'typebox';
import { DomainError } from '../../core/errors.js';
import { DEFAULT_OVERNET, type OvernetSettings } from '../../core/model.js';
import type { Encodable } from '../json/write-json.js';
import { flag, object, orNull, text } from '../schemas.js';
import { Type } from '../typebox.js';

/** A revision's form of the settings under `overnet`. */
export interface OvernetForm {
  readonly name: string;
  readonly body: TSchema;
  readonly answer: TSchema;
  /** Returns the settings as an object, in the form of the file. */
  encode(settings: OvernetSettings): { readonly [name: string]: Encodable };
  /** Reads the settings; an absent member becomes its default. Throws `invalidBody` in the servers' words. */
  decode(wire: WireOvernet): OvernetSettings;
}

const BODY = object(
  {
    enabled: Type.Optional(flag('Whether it runs.')),
    entry: Type.Optional(flag('Whether clients enter it here.')),
    gateway: Type.Optional(text('Where its gateway listens, `ip:port`.')),
    exit: Type.Optional(flag('Whether it leaves to the internet here.')),
    exit_listen: Type.Optional(text('Where the exit listens, `ip:port`; loopback alone.')),
  },
  { fewestElements: 0 },
);

export type WireOvernet = Static<typeof BODY>;

const CONFIG = Type.Object({
  enabled: flag('Whether it runs.'),
  entry: flag('Whether clients enter it here.'),
  gateway: text('Where its gateway listens.'),
  exit: flag('Whether it leaves to the internet here.'),
  exit_listen: text('Where the exit listens.'),
});

const LOOPBACK = new BlockList();
LOOPBACK.addAddress('::1', 'ipv6');

/** False for an IPv4 address written as an IPv6 one. */
function isLoopback(address: string): boolean {
  return isIPv6(address) ? LOOPBACK.check(address, 'ipv6') : address.startsWith('127.');
}

/** Five members, as in 0.4.7. */
export const overnetOfFiveMembers: OvernetForm = {
  name: 'five members',
  body: BODY,
  answer: Type.Object({
    config: CONFIG,
    serving: flag('Whether it runs here.'),
    gateway_up: orNull(
      Type.Boolean(),
      'true, false or null',
      'Whether the gateway answers; null where it is not asked.',
    ),
    exit_listening: orNull(Type.String(), 'a string or null', 'Where the exit listens; null where it does not.'),
  }),
  encode: ({ enabled, entry, gateway, exit, exitListen }) => ({
    enabled,
    entry,
    gateway,
    exit,
    exit_listen: exitListen,
  }),
  decode(wire) {
    const settings = {
      enabled: wire.enabled ?? DEFAULT_OVERNET.enabled,
      entry: wire.entry ?? DEFAULT_OVERNET.entry,
      gateway: wire.gateway ?? DEFAULT_OVERNET.gateway,
      exit: wire.exit ?? DEFAULT_OVERNET.exit,
      exitListen: wire.exit_listen ?? DEFAULT_OVERNET.exitListen,
    };
    addressIn(settings.gateway, 'overnet.gateway');
    const address = addressIn(settings.exitListen, 'overnet.exit_listen');
    if (!isLoopback(address)) {
      refuse(
        `overnet.exit_listen must be a loopback address, not ${settings.exitListen}: the exit has no authentication`,
      );
    }
    return settings;
  },
};

function addressIn(text: string, place: string): string {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  const address = bracketed ?? plain ?? '';
  const isRight = bracketed === undefined ? isIP(address) === 4 : isIP(address) === 6;
  if (!isRight || Number(port) > 65_535) refuse(`${place} '${text}' is not an ip:port (invalid socket address syntax)`);
  return address;
}

function refuse(words: string): never {
  throw new DomainError('invalidBody', words);
}
