import { describeSmallRooms } from '../../support/jest/room';

describeSmallRooms(__filename);
