export type { Backend } from './core/backend.js';
export type { Gateway } from './gateway/compose.js';
export { createGateway } from './gateway/create-gateway.js';
export type { GatewayMount, GatewayOptions } from './gateway/options.js';
