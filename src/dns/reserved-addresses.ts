import { isIP } from 'node:net';
import { addressBytes, withoutZone } from '../core/caller-network.js';

/** Addresses of one kind, by the hexadecimal digits of their bytes. */
interface ReservedKind {
  readonly kind: string;
  readonly digits: RegExp;
}

const LOOPBACK = 'a loopback address';
const LINK_LOCAL = 'a link-local address';
const UNSPECIFIED = 'the unspecified address';
/** Addresses where machines in a cloud get their own credentials; most clouds use link-local addresses for that. */
const METADATA = "a cloud's metadata address";

const V4: readonly ReservedKind[] = [
  { kind: LINK_LOCAL, digits: /^a9fe/ }, // 169.254.0.0/16, RFC 3927
  { kind: UNSPECIFIED, digits: /^00/ }, // 0.0.0.0/8, RFC 1122 section 3.2.1.3: a connection to it reaches loopback
  { kind: LOOPBACK, digits: /^7f/ }, // 127.0.0.0/8
  { kind: METADATA, digits: /^646464c8$/ }, // 100.100.100.200
];
const V6: readonly ReservedKind[] = [
  { kind: LINK_LOCAL, digits: /^fe[89ab]/ }, // fe80::/10, RFC 4291 section 2.5.6
  { kind: UNSPECIFIED, digits: /^0{32}$/ },
  { kind: LOOPBACK, digits: /^0{31}1$/ },
  { kind: METADATA, digits: /^fd000ec2(0000){5}0254$/ }, // fd00:ec2::254
  { kind: METADATA, digits: /^fd2000ce(0000){5}0254$/ }, // fd20:ce::254
];

/** Forms of IPv6 that contain an IPv4 address. */
const HOLDING_V4: readonly RegExp[] = [
  /^0{20}ffff(.{8})$/, // ::ffff:0:0/96, RFC 4291 section 2.5.5.2
  /^0{24}(.{8})$/, // ::/96, RFC 4291 section 2.5.5.1
  /^0{16}ffff0000(.{8})$/, // ::ffff:0:0:0/96, RFC 2765 section 2.1
  /^0064ff9b0{16}(.{8})$/, // 64:ff9b::/96, RFC 6052 section 2.1
  /^0064ff9b0001.{12}(.{8})$/, // 64:ff9b:1::/48, RFC 8215
  /^2002(.{8})/, // 2002::/16, RFC 3056 section 2
];

/**
 * Names the kind of an address that lists and upstreams may not use: link-local (where clouds serve a machine's
 * credentials), another metadata address, or the unspecified one, also in every form of IPv6 that contains an IPv4
 * address. Null for any other address.
 */
export function reservedKind(address: string): string | null {
  const kind = kindOf(address);
  return kind === LOOPBACK ? null : kind;
}

/**
 * Does the same for the target of a redirect, which must not reach this machine's own servers either, because another
 * machine chose it.
 */
export function reservedForRedirects(address: string): string | null {
  return kindOf(address);
}

function kindOf(address: string): string | null {
  const bare = withoutZone(address);
  if (isIP(bare) === 0) return null;
  const digits = addressBytes(bare).toString('hex');
  return isIP(bare) === 4 ? kindAmong(V4, digits) : (kindAmong(V6, digits) ?? kindOfHeld(digits));
}

function kindOfHeld(digits: string): string | null {
  for (const form of HOLDING_V4) {
    const held = form.exec(digits)?.[1];
    if (held !== undefined) return kindAmong(V4, held);
  }
  return null;
}

function kindAmong(kinds: readonly ReservedKind[], digits: string): string | null {
  return kinds.find((one) => one.digits.test(digits))?.kind ?? null;
}
