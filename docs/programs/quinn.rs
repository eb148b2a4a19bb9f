// A QUIC server that sends as many bytes as it is asked for, and its client (quinn).
use std::error::Error;
use std::net::{Ipv4Addr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Instant;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject};
use rustls::{DigitallySignedStruct, SignatureScheme};

type Answer<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Takes every certificate: the example's is its own authority.
#[derive(Debug)]
struct TakesAll;

impl ServerCertVerifier for TakesAll {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}

async fn serve() -> Answer<()> {
    let certificate = CertificateDer::from_pem_file("cert.pem")?;
    let key = PrivateKeyDer::from_pem_file("key.pem")?;
    let mut about =
        rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key)?;
    about.alpn_protocols = vec![b"bulk".to_vec()];
    let about = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(about)?));
    let endpoint = quinn::Endpoint::server(about, (Ipv4Addr::UNSPECIFIED, 4433).into())?;
    while let Some(incoming) = endpoint.accept().await {
        let connection = incoming.await?;
        tokio::spawn(async move {
            let (mut send, mut receive) = connection.accept_bi().await?;
            let size: usize = String::from_utf8(receive.read_to_end(20).await?)?.parse()?;
            send.write_all(&vec![0; size]).await?;
            send.finish()?;
            connection.closed().await;
            Answer::Ok(())
        });
    }
    Ok(())
}

async fn ask(host: &str, size: &str) -> Answer<()> {
    let mut about = rustls::ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(TakesAll))
        .with_no_client_auth();
    about.alpn_protocols = vec![b"bulk".to_vec()];
    let mut endpoint = quinn::Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into())?;
    endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(about)?)));
    let address = (host, 4433).to_socket_addrs()?.next().ok_or("no address")?;
    let connection = endpoint.connect(address, host)?.await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    let began = Instant::now();
    send.write_all(size.as_bytes()).await?;
    send.finish()?;
    let mut got = 0;
    while let Some(chunk) = receive.read_chunk(usize::MAX, false).await? {
        got += chunk.bytes.len();
    }
    println!("{got} bytes in {:.6} s", began.elapsed().as_secs_f64());
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Answer<()> {
    match std::env::args().collect::<Vec<_>>().as_slice() {
        [_, host, size] => ask(host, size).await,
        _ => serve().await,
    }
}
