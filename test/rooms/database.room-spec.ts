import { describeRoom } from '../support/jest/room';

describeRoom('database');
