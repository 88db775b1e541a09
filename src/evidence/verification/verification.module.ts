import { Module } from '@nestjs/common';
import { ChainVerifier } from './chain-verifier';
import { DerivedDataReader } from './derived-data-reader';
import { StateReader } from './state-reader';
import { StateVerifier } from './state-verifier';

/** Checks the records against the chain, and the chain against itself. */
@Module({
  providers: [ChainVerifier, StateVerifier, StateReader, DerivedDataReader],
  exports: [ChainVerifier, StateVerifier],
})
export class VerificationModule {}
