import './why-not.test.js';
