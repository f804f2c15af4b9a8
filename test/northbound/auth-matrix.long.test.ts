import './auth-matrix.test.js';
