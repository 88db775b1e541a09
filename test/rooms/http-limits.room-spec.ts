import { describeRoom } from '../support/jest/room';

describeRoom('http/limits');
