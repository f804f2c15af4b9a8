import type { JsonValue } from '../../wire/json/json.js';
import { mapTexts } from './map-texts.js';

/** The addresses of this run, for the marks of a recording. */
export interface Addresses {
  /** `@API@`: where the management API is configured to listen, `host:port`. */
  readonly api: string;
  /** `@LISTEN@`: where the tunnel is configured to listen, `host:port`. */
  readonly listen: string;
}

/** The addresses where nothing listens at them: on embedded cores, and in the files of live servers. */
export const DEFAULT_ADDRESSES: Addresses = { api: '127.0.0.1:9090', listen: '127.0.0.1:50000' };

function portOf(address: string): string {
  return address.slice(address.lastIndexOf(':') + 1);
}

/** A text with its marks replaced; a port's mark stands in quotes and becomes a number. */
export function replaceAddresses(text: string, addresses: Addresses): string {
  if (!text.includes('@')) return text;
  return text
    .replaceAll('"@APIPORT@"', portOf(addresses.api))
    .replaceAll('"@UDPPORT@"', portOf(addresses.listen))
    .replaceAll('@API@', addresses.api)
    .replaceAll('@LISTEN@', addresses.listen);
}

/** The same in a JSON value: a whole text that is a port's mark becomes an integer. */
export function replaceAddressesInJson(value: JsonValue, addresses: Addresses): JsonValue {
  return mapTexts(value, (text) => {
    if (text === '@APIPORT@') return BigInt(portOf(addresses.api));
    return text === '@UDPPORT@' ? BigInt(portOf(addresses.listen)) : replaceAddresses(text, addresses);
  });
}
