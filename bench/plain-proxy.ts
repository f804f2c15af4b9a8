/** The proxy of `keyway shadow` without a shadow: nobody is given a copy of what passes. */
import { startProxy } from '../src/replay/record/proxy.js';

const NOBODY = { keeps: () => true, passed: () => undefined, unkept: () => undefined };

const [, , origin = ''] = process.argv;
const { url } = await startProxy({
  origin,
  listen: { host: '127.0.0.1', port: 0 },
  watch: () => NOBODY,
  onFailure: (reason) => console.error(reason),
});
process.on('disconnect', () => process.exit(0));
process.send?.({ port: Number(new URL(url).port) });
