import { maskApiKey, parseList, type Variables } from './variable';
import { isPostgresUrl } from './database-url';
import { parseSeed, parseVerifierKey, type VerifierKey } from '../../signed-notes/signed-note';

type CheckpointSettings =
  'signingKey' | 'previousVerifierKeys' | 'checkpointOrigin' | 'checkpointFolder' | 'givenUpCheckpoints';

/** The variables about checkpoints. */
export const CHECKPOINT_VARIABLES: Pick<Variables, CheckpointSettings> = {
  signingKey: {
    name: 'SIGNING_KEY',
    description:
      'Key that signs checkpoints: 32 random bytes. Unset: one is generated at the first start and kept in a file.',
    default: '',
    // Replicas that each generated a key would sign the same log with different keys.
    requiredInProduction: ({ DATABASE_URL = '' }) => isPostgresUrl(DATABASE_URL),
    expected: 'the 32 bytes of an Ed25519 seed in standard base64, the same for all processes on one database',
    example: '$(openssl rand -base64 32)',
    mask: maskApiKey,
    parse: parseSigningKey,
  },
  previousVerifierKeys: {
    name: 'SIGNING_KEY_PREVIOUS',
    description: 'Public keys of previous signing keys, so that checkpoints kept by clients are still recognised.',
    default: '',
    expected:
      'verifier keys (name+hex+base64, as publicKey of GET /provenance/checkpoint shows them), separated by commas',
    // If somebody sets the previous secret key by mistake, it must not appear in a log.
    mask: maskApiKey,
    example: 'example.com/governance+dcce5bc2+AUvq3isjNDC5cYuqzs8P4FHLIqILbXmlqfxa2HOI4vc8',
    parse: parseVerifierKeys,
  },
  checkpointOrigin: {
    name: 'CHECKPOINT_ORIGIN',
    description: 'Name of this log in its checkpoints; should be unique, such as a URL without scheme.',
    default: 'agent-governance-service',
    expected: 'a name of 1 to 200 characters without white space and plus signs',
    example: 'example.com/governance',
    parse: parseOrigin,
  },
  checkpointFolder: {
    name: 'CHECKPOINT_FOLDER',
    description:
      'Folder of the last checkpoint and of a generated signing key. Unset: the folder of the database file.',
    default: '',
    expected: 'the path of a folder, without white space at its ends',
    example: '/var/lib/governance-checkpoints',
    parse: parseFolder,
  },
  givenUpCheckpoints: {
    name: 'ACCEPT_RESTORED_DATABASE',
    description:
      'Kept checkpoint that a restored database need not extend: its name as shown when the start is refused.',
    default: '',
    expected: 'names of checkpoints (size:first 16 hex digits of the root hash), separated by commas',
    example: '1040:3f9c0b6e8d2a4f71',
    parse: parseCheckpointNames,
  },
};

const ORIGIN = /^[^\s+\p{Cc}\p{Cf}]{1,200}$/u;
const CHECKPOINT_NAME = /^(0|[1-9]\d{0,15}):[0-9a-f]{16}$/;

/** Null: none is given, and the service generates one. */
function parseSigningKey(text: string): Buffer | null | undefined {
  return text === '' ? null : parseSeed(text);
}

function parseVerifierKeys(text: string): VerifierKey[] | undefined {
  return text === '' ? [] : parseList(text, parseVerifierKey);
}

/** A signed note's name: no white space, no plus sign. */
function parseOrigin(text: string): string | undefined {
  return ORIGIN.test(text) ? text : undefined;
}

/** A folder, absolute or relative to the working folder, without white space at its ends; null for the default. */
function parseFolder(text: string): string | null | undefined {
  if (text === '') return null;
  return text.trim() === text && !text.includes('\0') ? text : undefined;
}

/** Checkpoints by their names: `<size>:<first 16 hex digits of the root hash>`. */
function parseCheckpointNames(text: string): string[] | undefined {
  return text === '' ? [] : parseList(text, (item) => (CHECKPOINT_NAME.test(item) ? item : undefined));
}
