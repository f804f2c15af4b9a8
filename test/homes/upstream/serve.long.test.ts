import './serve.test.js';
