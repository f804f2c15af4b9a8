import { BlockList, isIP } from 'node:net';
import { hostAndPort } from './bind-address.js';
import type { Credentials } from './core/model.js';
import type { Mount } from './northbound/mount.js';

/** Design: "a mount that its own rule leaves open". One sentence for each that must not be served so. */
export function openMountProblems(
  mounts: readonly Mount[],
  credentials: Credentials,
  bind: string,
  allowOpen: boolean,
): readonly string[] {
  if (allowOpen) return [];
  return mounts.flatMap((mount) => {
    const reason =
      credentialsMissing(mount, mounts, credentials) ??
      (isOpen(mount, credentials) && !isLoopback(hostAndPort(bind).host)
        ? `${bind} is reached by other machines`
        : null);
    if (reason === null) return [];
    return [
      `${mount.label} would be open to everyone, although ${reason}: set ${mount.revision.auth.closedBy}, or allow it with --allow-open`,
    ];
  });
}

/** Why an open mount undoes what others rely on, or null: it must never open what another closes. */
export function credentialsMissing(mount: Mount, mounts: readonly Mount[], credentials: Credentials): string | null {
  if (!isOpen(mount, credentials)) return null;
  const { token, username, passwordHash } = credentials;
  if ((token ?? '') !== '' || username !== '' || passwordHash !== '') return 'credentials are configured';
  const closed = mounts.find((other) => !isOpen(other, credentials));
  return closed === undefined ? null : `${closed.label} is closed`;
}

function isOpen(mount: Mount, credentials: Credentials): boolean {
  return mount.revision.auth.isOpen(credentials);
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether only this machine reaches the address; brackets around IPv6 are tolerated. */
export function isLoopback(address: string): boolean {
  const host = address.replace(/^\[|\]$/g, '');
  if (host === 'localhost') return true;
  const family = isIP(host);
  return family !== 0 && loopback.check(host, family === 4 ? 'ipv4' : 'ipv6');
}
