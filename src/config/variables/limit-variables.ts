import { parseWholeNumber, wholeNumber, type Variables } from './variable';

type RoomSetting =
  'bodyLimit' | 'planBodyLimit' | 'bodyTotalLimit' | 'answerTotalLimit' | 'maxConnections' | 'maxConnectionsPerAddress';

const MOST_CONNECTIONS = 1_000_000;

/** Settings that limit what clients may use: rows of `VARIABLES`, kept here. */
export const LIMIT_VARIABLES: Pick<Variables, RoomSetting> = {
  bodyLimit: {
    name: 'BODY_LIMIT',
    description: 'Largest request body in bytes.',
    default: '1048576',
    example: '1048576',
    ...wholeNumber(1, 100 * 1024 * 1024),
  },
  planBodyLimit: {
    name: 'PLAN_BODY_LIMIT',
    description: 'The same for `POST /policies/plan` and `/policies/apply`, which accept a whole set of policies.',
    default: '16777216',
    example: '16777216',
    ...wholeNumber(1, 100 * 1024 * 1024),
  },
  bodyTotalLimit: {
    name: 'BODY_TOTAL_LIMIT',
    description: 'Bytes of bodies above 16 KiB held in memory at a time; further ones wait for up to ten seconds.',
    default: '8388608',
    example: '8388608',
    ...wholeNumber(1, 100 * 1024 ** 3),
  },
  answerTotalLimit: {
    name: 'ANSWER_TOTAL_LIMIT',
    description: 'Bytes of answers above 16 KiB that may wait for clients to read them; further requests get 503.',
    default: '67108864',
    example: '67108864',
    ...wholeNumber(1, 100 * 1024 ** 3),
  },
  maxConnections: {
    name: 'MAX_CONNECTIONS',
    description: 'Connections that clients may hold at a time; further ones are closed at once.',
    default: '5000',
    example: '5000',
    ...wholeNumber(1, MOST_CONNECTIONS),
  },
  maxConnectionsPerAddress: {
    name: 'MAX_CONNECTIONS_PER_ADDRESS',
    description: 'The same for one client address that is not a trusted proxy. Unset: a fifth of MAX_CONNECTIONS.',
    default: '',
    expected: `a whole number from 1 to ${MOST_CONNECTIONS}, in digits`,
    example: '1000',
    parse: (text) => (text === '' ? null : parseWholeNumber(text, 1, MOST_CONNECTIONS)),
  },
};
