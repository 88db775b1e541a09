import { Module } from '@nestjs/common';
import { ChainVerifier } from './chain-verifier';
import { ProvenanceController } from './provenance.controller';

@Module({ controllers: [ProvenanceController], providers: [ChainVerifier] })
export class ProvenanceModule {}
