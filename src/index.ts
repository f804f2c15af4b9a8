export type { Backend } from './core/backend.js';
export type { Gateway, GatewayMount, GatewayOptions } from './gateway/compose.js';
export { createGateway } from './gateway/create-gateway.js';
