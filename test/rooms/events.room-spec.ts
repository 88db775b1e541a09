import { describeRoom } from '../support/jest/room';

describeRoom('events');
