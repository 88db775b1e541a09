import { DomainError } from '../core/errors/domain-error';
import { defineErrorCode } from '../core/errors/error-codes';

export const INCIDENT_CLOSED = defineErrorCode({
  code: 'INCIDENT_CLOSED',
  status: 409,
  meaning: 'The incident is closed.',
  example: 'The incident INC-1 is closed already.',
});

export function incidentClosed(reference: string): DomainError {
  return new DomainError(INCIDENT_CLOSED, `The incident ${reference} is closed already.`);
}
