//! Theory against simulation: the laws of textbooks, papers and RFCs must come out, and do.
//!
//! A golden file says *unchanged*; only these tests say *right*. Each states its law, where the law
//! stands, and the reason of its tolerance. Laws that hold exactly are held to the picosecond.

mod acks;
mod bbr1;
mod bbr3;
mod bench;
mod careful_resume;
mod collective;
mod connection;
mod copa;
mod d2tcp;
mod d3;
mod datagrams;
mod dctcp;
mod ecn;
mod explicit;
mod expresspass;
mod fabric;
mod fast_retransmit;
mod go_back_zero;
mod homa;
mod hosts;
mod latency;
mod links;
mod linux;
mod locality;
mod misbehaving;
mod ndp;
mod ns2;
mod pacing;
mod pfabric;
mod pias;
mod planes;
mod qps;
mod queueing;
mod rack;
mod rate_limited;
mod rates;
mod rccc;
mod rcp;
mod rdma;
mod read;
mod recovery;
mod reno;
mod roce;
mod roce_windows;
mod routes;
mod slow_start;
mod timeouts;
mod uec;
mod watched;
mod wires;
