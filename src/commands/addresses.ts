import type { RunningGateway } from '../serve/start.js';
import type { CommandContext } from './command.js';

type Served = Pick<RunningGateway, 'url' | 'mounts' | 'at'>;
type Machine = Pick<CommandContext, 'ownAddresses' | 'environment'>;

const EVERY_ADDRESS = ['0.0.0.0', '[::]'];
const LOOPBACK = /^(?:127\.|localhost$|\[::1\]$)/;

/** Returns lines with the addresses at which the reader of this terminal opens panel and API of each mount. */
export function addressLines({ url, mounts, at }: Served, machine: Machine): readonly string[] {
  if (url.startsWith('unix:')) return placeLines(mounts, at);
  const origin = openedAt(new URL(url), machine);
  return [...placeLines(mounts, (path) => origin + path), ...tunnelLine(new URL(url), machine)];
}

function placeLines(mounts: Served['mounts'], at: Served['at']): readonly string[] {
  if (mounts.length === 1) return [firstPage({ mounts, at })];
  return mounts.map(({ revision, base, api }) => {
    const panel = revision.capabilities.panel === undefined ? '' : `panel ${at(`${base}/`)}  `;
    return `${revision.id}: ${panel}API ${at(api)}`;
  });
}

/** Returns the first mount with a panel, for a browser, else the first API. */
export function firstPage({ mounts, at }: Pick<Served, 'mounts' | 'at'>): string {
  const withPanel = mounts.find(({ revision }) => revision.capabilities.panel !== undefined);
  return withPanel === undefined ? `API: ${at(`${mounts[0]?.api ?? ''}/`)}` : `Panel: ${at(`${withPanel.base}/`)}`;
}

/** Returns the origin by which an address is opened: one that listens everywhere, by an address that this machine has. */
function openedAt({ protocol, hostname, port, origin }: URL, { ownAddresses }: Machine): string {
  if (!EVERY_ADDRESS.includes(hostname)) return origin;
  const [own = '127.0.0.1'] = ownAddresses();
  return `${protocol}//${own.includes(':') ? `[${own}]` : own}${port === '' ? '' : `:${port}`}`;
}

/** Says how a browser elsewhere comes to an address of this machine alone, where somebody sits at it by SSH. */
function tunnelLine({ hostname, port }: URL, { environment }: Machine): readonly string[] {
  const [, , server] = (environment.SSH_CONNECTION ?? '').split(' ');
  if (server === undefined || !LOOPBACK.test(hostname)) return [];
  return [`From your own machine: ssh -L ${port}:${hostname}:${port} ${server}, then open the same address there`];
}
