import { answer, type OwnHandler, withBody } from '../call.js';
import type { NewAddress } from '../rows/address.js';
import { tell } from './tokens.js';

export const ADDRESS_HANDLERS = {
  putAddress: withBody<NewAddress>(async ({ context, principal }, asked) => {
    const { host, port } = await context.keepAddress(asked.host, asked.port == null ? null : Number(asked.port));
    await tell(context, {
      eventEn: `Clients' address set to ${host}:${port} by ${principal.name}`,
      eventRu: `Адрес для клиентов теперь ${host}:${port}: ${principal.name}`,
    });
    return answer({ host, port });
  }),
} as const satisfies Readonly<Record<string, OwnHandler>>;
