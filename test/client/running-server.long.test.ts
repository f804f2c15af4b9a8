import './running-server.test.js';
