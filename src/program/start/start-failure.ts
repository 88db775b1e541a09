import { isNativeError } from 'node:util/types';
import { CheckpointContradictedError } from '../../evidence/checkpoints/stored-checkpoint';
import { ConfigurationError } from '../../core/config/read-configuration';
import { DatabaseInUseError } from '../../ledger/database/database-fault';
import { HeadAheadError } from '../../ledger/head/ledger-clock';
import { UnfinishedMoveError } from '../../ledger/schema/move-mark';
import { DamagedRowError } from '../../ledger/records/record-codec';
import { UnreleasedSchemaError } from '../../ledger/schema/schema-version';

/** Reason why the service did not start, for people and for process supervisors. */
interface StartFailure {
  readonly message: string;
  readonly exitCode: number;
}

/** Exit codes of sysexits.h. */
const EXIT_CODE = { general: 1, dataError: 65, temporaryFailure: 75, configuration: 78 };

const LISTEN_FAULTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there; set PORT to a free port',
  EACCES: 'the system does not allow it; set PORT to 1024 or higher',
  EADDRNOTAVAIL: 'this machine does not have that address; set HOST to one it has, or to 0.0.0.0',
  ENOTFOUND: 'no such host name is known; set HOST to an address of this machine, or to 0.0.0.0',
};

export function startFailure(error: unknown): StartFailure {
  if (error instanceof ConfigurationError) return { message: error.message, exitCode: EXIT_CODE.configuration };
  if (error instanceof DatabaseInUseError) return { message: error.message, exitCode: EXIT_CODE.temporaryFailure };
  if (error instanceof CheckpointContradictedError) return { message: error.message, exitCode: EXIT_CODE.dataError };
  if (error instanceof HeadAheadError) return { message: error.message, exitCode: EXIT_CODE.dataError };
  if (error instanceof UnreleasedSchemaError) return { message: error.message, exitCode: EXIT_CODE.dataError };
  if (error instanceof UnfinishedMoveError) return { message: error.message, exitCode: EXIT_CODE.dataError };
  if (error instanceof DamagedRowError) return { message: error.message, exitCode: EXIT_CODE.dataError };
  return { message: `The service could not start: ${reasonOf(error)}`, exitCode: EXIT_CODE.general };
}

function reasonOf(error: unknown): string {
  if (!isNativeError(error)) return String(error);
  const { syscall, code = '', address = '', port = '' } = error as Partial<ListenError>;
  const fault = LISTEN_FAULTS[code];
  const isListening = syscall === 'listen' || syscall === 'getaddrinfo';
  if (isListening && fault !== undefined)
    return `it cannot listen on ${[address, port].join(' port ').trim()}: ${fault}.`;
  // The stack locates a programming error; the message describes any other error.
  return isProgrammingError(error) ? (error.stack ?? error.message) : error.message;
}

interface ListenError {
  readonly syscall: string;
  readonly code: string;
  readonly address: string;
  readonly port: number;
}

function isProgrammingError(error: Error): boolean {
  return error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
}
