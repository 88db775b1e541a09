import { Module } from '@nestjs/common';
import { ChainVerifier } from './chain-verifier';
import { DerivedDataReader } from './derived-data-reader';
import { RestoredEntries } from './restored-entries';
import { StateReader } from './state-reader';
import { StateVerifier } from './state-verifier';
import { SumCheck } from './sum-check';

/** Checks the records against the chain, and the chain against itself. */
@Module({
  providers: [ChainVerifier, RestoredEntries, StateVerifier, StateReader, DerivedDataReader, SumCheck],
  exports: [ChainVerifier, StateVerifier],
})
export class VerificationModule {}
