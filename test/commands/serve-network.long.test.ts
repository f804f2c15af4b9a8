import './serve-network.test.js';
