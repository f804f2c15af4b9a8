import type { JsonValue } from '../../wire/json/json.js';
import { mapTexts } from './map-texts.js';

/** The addresses of this run, for the marks in a recording. */
export interface Addresses {
  /** `@API@`: where the management API is configured to listen, `host:port`. */
  readonly api: string;
  /** `@LISTEN@`: where the tunnel is configured to listen, `host:port`. */
  readonly listen: string;
}

/** Addresses without a listener, for embedded cores and the files of live servers. */
export const DEFAULT_ADDRESSES: Addresses = { api: '127.0.0.1:9090', listen: '127.0.0.1:50000' };

function portOf(address: string): string {
  return address.slice(address.lastIndexOf(':') + 1);
}

/** Replaces the marks in a text; a port's mark is in quotes and becomes a number. */
export function replaceAddresses(text: string, addresses: Addresses): string {
  if (!text.includes('@')) return text;
  return text
    .replaceAll('"@APIPORT@"', portOf(addresses.api))
    .replaceAll('"@UDPPORT@"', portOf(addresses.listen))
    .replaceAll('@API@', addresses.api)
    .replaceAll('@LISTEN@', addresses.listen);
}

/** Does the same in a JSON value: a text that is only a port's mark becomes an integer. */
export function replaceAddressesInJson(value: JsonValue, addresses: Addresses): JsonValue {
  return mapTexts(value, (text) => {
    if (text === '@APIPORT@') return BigInt(portOf(addresses.api));
    return text === '@UDPPORT@' ? BigInt(portOf(addresses.listen)) : replaceAddresses(text, addresses);
  });
}
