import { Injectable } from '@nestjs/common';
import { ChainVerifier } from '../verification/chain-verifier';
import { Metrics } from './metrics';

/** How far a verification of the chain is, as a metric. */
@Injectable()
export class VerificationMetrics {
  constructor(metrics: Metrics, verifier: ChainVerifier) {
    metrics.gauge(
      'governance_verification_entry',
      'Last entry that the verification under way in this process has hashed; 0 while none runs.',
      () => verifier.at,
    );
  }
}
