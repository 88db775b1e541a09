import { parseSeed } from '../../signed-notes/signed-note';
import { parseDuration } from '../../values/duration';
import { type ListedKey, p256Key, parseP256PublicKey } from '../../values/p256-key';
import { isPostgresUrl } from './database-url';
import { maskApiKey, parseList, type VariableTable } from './variable';

const AUDIENCE = /^[\x21-\x2b\x2d-\x7e]{1,200}$/;
/** Milliseconds. */
const LONGEST = 3_600_000;

/** Settings about permits: rows of `VARIABLES`, kept here. */
export const PERMIT_VARIABLES = {
  permitAudiences: {
    name: 'PERMIT_AUDIENCES',
    description: 'Systems for which permits are made, tokens that prove one authorised action; needs PUBLIC_URL.',
    default: '',
    expected: 'names of up to 200 visible ASCII characters, separated by commas',
    example: 'bank,https://vault.example.com',
    parse: (text): string[] | undefined =>
      text === '' ? [] : parseList(text, (item) => (AUDIENCE.test(item) ? item : undefined)),
  },
  /** Milliseconds. */
  permitTtl: {
    name: 'PERMIT_TTL',
    onlyWith: 'PERMIT_AUDIENCES',
    description: 'How long a permit is valid, from its authorisation on.',
    default: 'PT5M',
    expected: 'an ISO 8601 duration from PT1S to PT1H',
    parse: (text) => parseDuration(text, LONGEST),
  },
  /** Secret: never show it. Null: the service generates and stores one. */
  permitKey: {
    name: 'PERMIT_KEY',
    onlyWith: 'PERMIT_AUDIENCES',
    description:
      'Key that signs permits: a P-256 private key. Unset: one is generated at the first start and kept in a file.',
    default: '',
    // Replicas that each generated a key would list different ones.
    requiredInProduction: ({ DATABASE_URL = '', PERMIT_AUDIENCES = '' }) =>
      isPostgresUrl(DATABASE_URL) && PERMIT_AUDIENCES !== '',
    expected: 'the 32 bytes of a P-256 private key in standard base64, the same for all processes on one database',
    example: '$(openssl rand -base64 32)',
    mask: maskApiKey,
    parse: parsePrivateKey,
  },
  previousPermitKeys: {
    name: 'PERMIT_KEY_PREVIOUS',
    onlyWith: 'PERMIT_AUDIENCES',
    description: 'Public keys of previous permit keys, which stay listed until the last permit they signed is over.',
    default: '',
    expected: 'public keys as <x>.<y>, the members of a key in /.well-known/jwks.json, separated by commas',
    // If somebody sets the previous secret key by mistake, it must not appear in a log.
    mask: maskApiKey,
    example: 'axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY.T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU',
    parse: (text): ListedKey[] | undefined => (text === '' ? [] : parseList(text, parseP256PublicKey)),
  },
} satisfies VariableTable;

function parsePrivateKey(text: string): Buffer | null | undefined {
  if (text === '') return null;
  const secret = parseSeed(text);
  return secret !== undefined && p256Key(secret) !== undefined ? secret : undefined;
}
