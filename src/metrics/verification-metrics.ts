import { Injectable } from '@nestjs/common';
import { ChainVerifier } from '../verification/chain-verifier';
import { Metrics } from './metrics';

/** How far a verification of the chain is, as a metric. */
@Injectable()
export class VerificationMetrics {
  constructor(metrics: Metrics, verifier: ChainVerifier) {
    metrics.gauge(
      'governance_verification_entry',
      'Last entry hashed by the verification that is running in this process; 0 while none is running.',
      () => verifier.at,
    );
  }
}
