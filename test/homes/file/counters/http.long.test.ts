import './http.test.js';
